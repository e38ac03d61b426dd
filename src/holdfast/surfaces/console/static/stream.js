// One stream of events for all tabs of a browser, which keeps six connections to a server and no more.
// Runs as a shared worker; where a browser has none, as a worker of one page. A tab says whether it is looked at.
"use strict";

const TOPICS = ["caco.context", "session.started", "session.ended", "session.renamed"];
const LONGEST_WAIT_SECONDS = 60;

const tabs = new Set();
let stream = null;
let waitSeconds = 1;

const tell = (news) => tabs.forEach((tab) => tab.postMessage(news));

function open() {
  stream = new EventSource("/api/events");
  TOPICS.forEach((topic) => stream.addEventListener(topic, ({ data }) => tell({ topic, data: JSON.parse(data) })));
  stream.onopen = () => {
    waitSeconds = 1;
    tell({ isLive: true });
  };
  stream.onerror = () => {
    tell({ isLive: false });
    if (stream.readyState === EventSource.CLOSED) retry(); // an answer that is no stream; what breaks off comes back
  };
}

function retry() {
  const refused = stream;
  setTimeout(() => stream === refused && open(), waitSeconds * 1000);
  waitSeconds = Math.min(2 * waitSeconds, LONGEST_WAIT_SECONDS);
}

function close() {
  stream.close();
  stream = null;
}

function join(tab) {
  tab.onmessage = ({ data: isSeen }) => {
    if (isSeen) tabs.add(tab);
    else tabs.delete(tab);
    if (!tabs.size && stream) close();
    else if (tabs.size && !stream) open();
    else if (isSeen) tab.postMessage({ isLive: stream.readyState === EventSource.OPEN });
  };
}

if ("onconnect" in self) self.onconnect = ({ ports: [tab] }) => join(tab);
else join(self);
