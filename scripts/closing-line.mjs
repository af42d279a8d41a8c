// Prints the tests that passed only on a retry, with the reason, then "N passed, N failed" as the last line of a test run.
export default class ClosingLine {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    const triedAgain = [];
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        counts[state] += 1;
        if (state !== "passed" || !test.diagnostic()?.flaky) continue;
        const why = errors.map(({ stack, message }) => stack ?? message).join("\n");
        triedAgain.push(`passed when tried again: ${module.relativeModuleId} > ${test.fullName}\n${why}`);
      }
    }
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    const closing = `${counts.passed} passed, ${counts.failed} failed${skipped}`;
    process.on("exit", () => console.log([...triedAgain, closing].join("\n")));
  }
}
