// OpenCode has no hooks: this plugin runs commands, and hands each a payload in the shape of hooks.
import { spawnSync } from "node:child_process"

export const Recorder = async ({ directory }) => {
  const fire = (name, session_id, tool_name) => {
    const payload = { hook_event_name: name, cwd: directory, session_id, tool_name }
    if (HOOKS[name]) spawnSync("sh", ["-c", HOOKS[name]], { input: JSON.stringify(payload) })
  }
  return {
    "chat.message": async (input) => fire("chat.message", input.sessionID),
    "tool.execute.before": async (input) => fire("tool.execute.before", input.sessionID, input.tool),
    "tool.execute.after": async (input) => fire("tool.execute.after", input.sessionID, input.tool),
    event: async ({ event }) => {
      const { sessionID, info } = event.properties
      fire(event.type, sessionID ?? info?.id)
    },
  }
}
