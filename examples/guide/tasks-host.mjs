// @ts-check
// Tasks in a host: tool calls that outlive their connection and the host.
// region create
import { createHost } from "portolan-host";

/** @param {import("portolan-host").HostOptions} options */
export function open(options) {
  return createHost({ ...options, tasks: true });
}
// endregion

// region start
/** @param {import("portolan-host").Host} host @param {(text: string) => void} show */
export async function render(host, show) {
  const { task, result } = await host.tasks.start("films", "render", { scene: "harbour" });
  // The server may answer with the result itself.
  if (!task) return result;
  show(`${task.id}: ${task.message ?? task.state}`);
  return host.tasks.wait(task.id);
}
// endregion

// region background
/** @param {import("portolan-host").Host} host @param {string} text */
export async function runInBackground(host, text) {
  let done = await host.run(text, { tasks: "background" }).result;
  // The model has finished, and some of its calls go on: a later run waits for them.
  for (let more = 0; more < 10 && done.tasks; more += 1) {
    done = await host.run(done.state, { tasks: "background" }).result;
  }
  return done.text;
}
// endregion
