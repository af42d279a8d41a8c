// Prints the tests that were skipped for a missing program, those that passed only on a retry, with the reason, then
// "N passed, N failed" as the last line of a test run.
import { installCommand, missingFor } from "./programs.mjs";

export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const triedAgain = [];
    const missing = [];
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        // A test that test/kit/runner.ts skips stays pending.
        const isSkipped = state === "skipped" || state === "pending";
        counts[isSkipped ? "skipped" : state] += 1;
        if (isSkipped) missing.push(...reasonsFor(module, test));
        if (state !== "passed" || !test.diagnostic()?.flaky) continue;
        const why = errors.map(({ stack, message }) => stack ?? message).join("\n");
        triedAgain.push(`passed when tried again: ${module.relativeModuleId} > ${test.fullName}\n${why}`);
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    const closing = `${counts.passed} passed, ${counts.failed} failed${skipped}`;
    process.on("exit", () => console.log([...missing, ...triedAgain, closing].join("\n")));
  }
}

/** Returns why a test was skipped, if it needs a program that is not installed. */
function reasonsFor(module, test) {
  return missingFor(module.moduleId)
    .filter(({ titles }) => titles === undefined || titles.test(test.fullName))
    .slice(0, 1)
    .map((program) => {
      const why = `${program.name} is missing; ${installCommand(program)}`;
      return `skipped: ${module.relativeModuleId} > ${test.fullName} (${why})`;
    });
}
