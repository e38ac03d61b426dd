// @MARK@. Checked against OpenCode 1.18.33.
//
// OpenCode has no hooks that run a command, so this file calls `holdfast hook opencode EVENT` with
// what each event says. Nothing here may disturb the agent: a program that is missing, slow or
// broken means that OpenCode goes on without Holdfast.

import { spawn } from "node:child_process"
import { readFile, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"

const SHIM = "@SHIM@"
const SERVER = "holdfast" // what our MCP server is called
const TEXT_MS = 2000 // how long a prompt waits for what was called before and for our text
const LOOK_UP_MS = 500 // for what OpenCode knows of a session
const COMMAND_MS = 5000 // how long after a command its prompt may come
const HOOK_MS = 10000 // after that a call is stopped
const END_MS = 1500 // how long the end of OpenCode waits for what was called, and for the last calls
const ANSWER_CHARS = 1000000
const FILE_CHARS = 200000 // of a file that is replaced
const FILE_BYTES = 4000000 // a larger one is not read
const EDITS = ["edit", "write", "multiedit", "apply_patch", "patch"]
const TITLE = "You are a title generator" // how OpenCode asks for a title

// --- calling holdfast ----------------------------------------------------------------------------

// Run one hook; the promise never fails, and what is not an answer of ours is an empty one.
function callHook(payload) {
  return new Promise((resolve) => {
    let output = ""
    const finish = () => resolve(parseAnswer(output))
    try {
      const child = spawn(SHIM, ["hook", "opencode", payload.hook_event_name], {
        stdio: ["pipe", "pipe", "ignore"],
        detached: true, // Ctrl-C and a closed terminal are meant for the client
      })
      const timer = setTimeout(() => {
        stop(child)
        finish()
      }, HOOK_MS)
      timer.unref?.()
      const end = () => {
        clearTimeout(timer)
        finish()
      }
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (chunk) => {
        if (output.length < ANSWER_CHARS) output += chunk
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      finish()
    }
  })
}

function stop(child) {
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // It has ended by itself.
  }
}

function parseAnswer(output) {
  try {
    const answer = JSON.parse(output)
    return answer && typeof answer === "object" ? answer : {}
  } catch {
    return {}
  }
}

// What the promise gives, or nothing when it takes too long.
function limit(promise, milliseconds) {
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// An error in some of these callbacks would end the person's turn.
function guard(callback) {
  return async (...given) => {
    try {
      return await callback(...given)
    } catch {
      return undefined
    }
  }
}

// What a file holds before it is replaced: the call of ours runs beside the edit.
async function readOriginal(directory, given) {
  if (typeof given.content !== "string" || typeof given.filePath !== "string") return undefined
  try {
    const path = resolve(directory, given.filePath)
    const found = await stat(path)
    if (!found.isFile() || found.size > FILE_BYTES) return ""
    return (await readFile(path, "utf8")).slice(0, FILE_CHARS)
  } catch {
    return "" // a new one
  }
}

// Where OpenCode keeps its sessions.
function findDatabase() {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const named = process.env.OPENCODE_DB
  if (!named) return join(data, "opencode.db")
  return isAbsolute(named) ? named : join(data, named)
}

// --- the sessions of one OpenCode process --------------------------------------------------------

function makeSessions(directory, findParent) {
  const sessions = new Map()
  let queue = Promise.resolve() // one call after the other: their order is the order of the log
  let latest // the session of the last call, which is the one that our server takes a call for

  // A session that is resumed has none of our text either: it is in no message, only in requests.
  function add(id, facts) {
    const session = { id, directory, source: "startup", ...facts }
    sessions.set(id, session)
    return session
  }

  // The session of that id, or the one that started it as a subagent.
  async function findRoot(id) {
    const session = await find(id)
    const isOwn = !session.parent || session.parent === id
    return isOwn ? session : findRoot(session.parent)
  }

  async function find(id) {
    const session = sessions.get(id) ?? add(id, { lookUp: findParent(id) })
    if (session.lookUp) {
      session.parent = await limit(session.lookUp, LOOK_UP_MS)
      session.lookUp = undefined
    }
    return session
  }

  function describe(session, event, facts) {
    return {
      hook_event_name: event,
      session_id: session.id,
      transcript_path: findDatabase(),
      cwd: session.directory,
      ...facts,
    }
  }

  // Queue a call; its answer may bring our text for the model and the name of our session. A notice
  // is for the model of the one who acts, which may be a subagent.
  function send(session, event, facts, actor = session) {
    const payload = describe(session, event, facts)
    const done = queue.then(() => callHook(payload)).then((answer) => take(session, answer, actor))
    queue = done
    return done
  }

  function take(session, answer, actor) {
    latest = session.id
    session.isUsed = true
    if (typeof answer.notice === "string" && answer.notice) {
      actor.notices = [...(actor.notices ?? []), answer.notice]
    }
    if (typeof answer.offer === "string" && answer.offer) session.offer = answer.offer
    if (typeof answer.session_id === "string") session.ours = answer.session_id
    if (typeof answer.text !== "string" || !answer.text) return
    session.text = answer.text
    session.source = undefined
  }

  // What the person types is a command; OpenCode makes the prompt of it.
  async function takeCommand(id, name, given) {
    const session = await find(id)
    session.command = `/${name} ${given ?? ""}`.trim()
    session.commandAt = Date.now()
  }

  // A prompt of the person. The first one of a context window waits for our text.
  async function takePrompt(id, message, parts) {
    const session = await find(id)
    if (session.parent) return
    const words = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    const typed = Date.now() - session.commandAt < COMMAND_MS ? session.command : undefined
    session.commandAt = undefined
    const source = session.source
    session.source = undefined
    session.answer = undefined
    session.offer = undefined // it was about the prompt before
    if (source) await limit(queue, TEXT_MS)
    session.asked = send(session, "chat.message", {
      prompt_id: message.id,
      prompt: typed ?? words.map((part) => part.text).join("\n\n"),
      agent: message.agent,
      source,
    })
    if (source) await limit(session.asked, TEXT_MS)
  }

  // Our text goes into every request in the same bytes, so that the model's cache holds.
  async function addText(id, system) {
    const session = sessions.get(id)
    if (!session || system[0]?.startsWith(TITLE)) return
    if (session.isSummarizing) {
      session.isSummarizing = false
      return
    }
    if (session.asked) await limit(session.asked, TEXT_MS)
    session.asked = undefined
    if (session.text && !session.parent) system.push(session.text)
    system.push(...(session.notices ?? []))
    if (session.offer && !session.parent) system.push(session.offer)
  }

  // A call of one of our tools means the session that it is made in.
  async function nameSession(id, tool, callID, given) {
    const session = await findRoot(id)
    if (given.session_id || given.operation === "start") {
      session.ours = undefined // another one may be meant from now on
      return
    }
    await limit(queue, TEXT_MS)
    const isKnown = session.ours || latest === session.id
    if (!isKnown) {
      const facts = { tool_name: tool, tool_use_id: callID }
      await limit(send(session, "tool.execute.before", facts), TEXT_MS)
    }
    if (session.ours) given.session_id = session.ours
    if (given.operation === "end") session.ours = undefined
  }

  async function takeEdit(id, tool, callID, given) {
    const session = await findRoot(id)
    const actor = sessions.get(id) ?? session
    const agent = id === session.id ? {} : { agent_id: id, agent_type: actor.agent }
    const original = await readOriginal(session.directory, given)
    const call = { tool_name: tool, tool_use_id: callID, tool_input: given }
    const facts = { ...call, original_content: original, ...agent }
    actor.asked = send(session, "tool.execute.before", facts, actor)
  }

  function takeEvent(type, properties) {
    const info = properties.info ?? {}
    if (type === "session.created") return takeCreated(info)
    const session = sessions.get(properties.sessionID ?? properties.part?.sessionID)
    if (!session || session.parent) return
    if (type === "message.updated") takeMessage(session, info)
    if (type === "message.part.updated") takePart(session, properties.part ?? {})
    if (type === "session.compacted") takeCompaction(session)
    if (type === "session.idle") takeIdle(session)
    if (type === "session.deleted") sessions.delete(session.id)
  }

  function takeCreated(info) {
    const source = /\(fork #\d+\)$/.test(info.title ?? "") ? "fork" : "startup"
    const facts = { parent: info.parentID, agent: info.agent, source }
    const session = add(info.id, { ...facts, directory: info.directory ?? directory })
    if (!session.parent) send(session, "session.created", { source, agent: info.agent })
  }

  // A summary is not an answer.
  function takeMessage(session, info) {
    if (info.role !== "assistant") return
    session.answering = info.summary ? undefined : info.id
  }

  function takePart(session, part) {
    const isAnswer = part.type === "text" && part.messageID === session.answering
    if (isAnswer && part.time?.end) session.answer = { id: part.id, text: part.text }
  }

  function takeCompaction(session) {
    session.isSummarizing = false
    session.source = "compact" // the next prompt asks, unless this call brings the text
    session.asked = send(session, "session.compacted", { source: "compact" })
  }

  function takeIdle(session) {
    const { id, text } = session.answer ?? {}
    session.answer = undefined
    send(session, "session.idle", { turn_id: id, last_assistant_message: text })
  }

  function startSummary(id) {
    const session = sessions.get(id)
    if (session) session.isSummarizing = true
  }

  // The client ends: what was called comes first, because nothing may follow the end of a session.
  async function end() {
    await limit(queue, END_MS)
    const used = [...sessions.values()].filter((session) => session.isUsed)
    const calls = used.map((session) => callHook(describe(session, "dispose", {})))
    await limit(Promise.all(calls), END_MS)
  }

  return { takeCommand, takePrompt, addText, nameSession, takeEdit, takeEvent, startSummary, end }
}

// --- OpenCode 1.x --------------------------------------------------------------------------------

async function server({ client, directory }) {
  const findParent = guard(async (id) => {
    const found = await client.session.get({ path: { id } })
    return found?.data?.parentID
  })
  const sessions = makeSessions(directory, findParent)
  return {
    event: guard(async ({ event }) => sessions.takeEvent(event.type, event.properties ?? {})),
    "command.execute.before": guard(async (input) =>
      sessions.takeCommand(input.sessionID, input.command, input.arguments),
    ),
    "chat.message": guard(async (input, output) =>
      sessions.takePrompt(input.sessionID, output.message, output.parts),
    ),
    "experimental.chat.system.transform": guard(async (input, output) =>
      sessions.addText(input.sessionID, output.system),
    ),
    "experimental.session.compacting": guard(async (input) =>
      sessions.startSummary(input.sessionID),
    ),
    "tool.execute.before": guard(async (input, output) => {
      const call = [input.sessionID, input.tool, input.callID, output.args]
      if (input.tool.startsWith(`${SERVER}_`)) await sessions.nameSession(...call)
      else if (EDITS.includes(input.tool)) await sessions.takeEdit(...call)
    }),
    dispose: guard(() => sessions.end()),
  }
}

// --- OpenCode 2.x, untested ----------------------------------------------------------------------

// Without this entry 2.x refuses the file. It hands over our text and captures nothing by itself.
async function setup(context) {
  const asked = new Map()
  const directory = context?.location?.directory
  const ask = (id) =>
    callHook({
      hook_event_name: "chat.message",
      session_id: id,
      transcript_path: findDatabase(),
      cwd: directory,
      source: "startup",
    })
  const addText = guard(async (event) => {
    if (!directory || !event?.sessionID) return
    if (!asked.has(event.sessionID)) asked.set(event.sessionID, ask(event.sessionID))
    const answer = await limit(asked.get(event.sessionID), TEXT_MS)
    if (answer?.text) event.system?.push?.({ type: "text", text: answer.text })
  })
  await guard(() => context?.session?.hook?.("context", addText))()
}

export default { id: "holdfast", server, setup }
