/** What the parent told this process at its start. */
export const settings = JSON.parse(process.argv[2]);

/** Runs each task the parent sends and answers with its result, or with why it failed. */
export function answerTasks(tasks) {
  process.on("message", async (task) => {
    try {
      process.send?.(await tasks[task.run](task));
    } catch (error) {
      process.send?.({ error: error.message });
    }
  });
}
