/** The options from the parent process. */
export const settings = JSON.parse(process.argv[2]);

/** Runs each task of the parent and answers with its result or the reason of its failure. */
export function answerTasks(tasks) {
  process.on("message", async (task) => {
    try {
      process.send?.(await tasks[task.run](task));
    } catch (error) {
      process.send?.({ error: error.message });
    }
  });
}
