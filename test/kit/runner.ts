import { TestRunner } from "vitest";
import type { VitestRunner } from "vitest/runners";
import { missingFor } from "../../scripts/programs.mjs";

type Files = Parameters<NonNullable<VitestRunner["onCollected"]>>[0];
type Task = Files[number]["tasks"][number];

/** Skips the tests that need a program of the system that is not installed. `scripts/closing-line.mjs` names them. */
export default class ProgramRunner extends TestRunner {
  onCollected(files: Files): void {
    for (const file of files) {
      for (const program of missingFor(file.filepath)) {
        for (const task of file.tasks) skip(task, "", program.titles);
        if (file.tasks.every(({ mode }) => mode === "skip")) file.mode = "skip";
      }
    }
  }
}

/** Skips a test, or a suite with all that is in it, so that its hooks do not run either. */
function skip(task: Task, path: string, titles: RegExp | undefined): void {
  const title = path === "" ? task.name : `${path} > ${task.name}`;
  if (task.type === "suite") {
    for (const inner of task.tasks) skip(inner, title, titles);
    if (task.tasks.every(({ mode }) => mode === "skip")) task.mode = "skip";
  } else if (titles === undefined || titles.test(title)) {
    task.mode = "skip";
  }
}
