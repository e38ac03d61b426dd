// One event stream for all tabs of a browser, because a browser opens at most six connections to a server.
// Runs as a shared worker, or as a worker of one page if the browser has no shared workers. A tab reports whether it is
// visible.
"use strict";

const TEAM_TOPICS = [
  "context_published", "context_revoked", "claimed", "released", "visibility_changed",
  "handoff_offered", "handoff_accepted", "handoff_declined", "handoff_completed", "handoff_cancelled",
].map((change) => `team.${change}`);
const TOPICS = ["caco.context", "session.started", "session.ended", "session.renamed", ...TEAM_TOPICS];
const LONGEST_WAIT_SECONDS = 60;

const tabs = new Set();
let stream = null;
let waitSeconds = 1;

const broadcast = (news) => tabs.forEach((tab) => tab.postMessage(news));

function open() {
  stream = new EventSource("/api/events");
  TOPICS.forEach((topic) => stream.addEventListener(topic, ({ data }) => broadcast({ topic, data: JSON.parse(data) })));
  stream.onopen = () => {
    waitSeconds = 1;
    broadcast({ isLive: true });
  };
  stream.onerror = () => {
    broadcast({ isLive: false });
    if (stream.readyState === EventSource.CLOSED) retry(); // not a stream; a broken stream reconnects by itself
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
