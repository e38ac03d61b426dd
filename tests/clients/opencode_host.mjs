// Plays OpenCode for the plugin: calls what it registered, in order, and prints what came of it.

import { writeFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { pathToFileURL } from "node:url"

const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)
const { plugin, parents, steps } = JSON.parse(Buffer.concat(chunks).toString())

const client = { session: { get: async ({ path }) => ({ data: { parentID: parents[path.id] } }) } }
const { default: definition } = await import(pathToFileURL(plugin).href)
const hooks = await definition.server({ client, directory: "/home/dev/project" })

const outputs = []
for (const { create, hook, input, output, until } of steps) {
  if (create) writeFileSync(create, "")
  if (hook) await hooks[hook](input, output)
  while (until && output[until].length < 2) {
    await setTimeout(10)
    await hooks[hook](input, output)
  }
  outputs.push(output ?? null)
}
console.log(JSON.stringify(outputs))
process.exit(0)
