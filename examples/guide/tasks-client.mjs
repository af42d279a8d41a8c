// region connect
import { connect } from "portolan/client";
import { resumeTask, startTool, storedTasks, tasks } from "portolan/client/tasks";

/** @param {import("portolan/client").ConnectTarget} target @param {import("portolan/storage").KeyValue} store */
export function open(target, store) {
  return connect(target, { extensions: [tasks({ store })] });
}
// endregion

// region start
/** @param {import("portolan/client").Client} client @param {(text: string) => void} show */
export async function render(client, show) {
  const task = await startTool(client, "render", { scene: "harbour" });
  for await (const { status, message } of task.events) show(message ?? status);
  return task.result;
}
// endregion

// region resume
/** @param {import("portolan/client").Client} client */
export async function finish(client) {
  const running = (await storedTasks(client)).map((ref) => resumeTask(client, ref));
  return Promise.allSettled(running.map(({ result }) => result));
}
// endregion
