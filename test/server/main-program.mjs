// A server as a program, for the tests of `runMain`.
import { createServer } from "portolan/server";
import { runMain, UsageError } from "portolan/server/main";

await runMain({
  name: "greeter",
  version: "1.2.3",
  about: "Greets people",
  arguments: "<name>...",
  flags: {
    loud: { type: "boolean", short: "l", says: "in capitals" },
    times: { type: "string", value: "<count>", says: "how often" },
  },
  environment: { GREETING: { says: "the first word" } },
  create(line) {
    const [name] = line.arguments;
    if (name === undefined) throw new UsageError("expected a name, got none");
    if (name === "nobody") throw new Error("nobody cannot be greeted");
    const times = line.count("times") ?? 1;
    const text = `Hello ${name}`.repeat(times);
    let finish = () => {};
    return createServer({ name: "greeter", version: "1.2.3" })
      .tool("greet", { run: () => (line.isSet("loud") ? text.toUpperCase() : text) })
      .tool("wait", {
        run() {
          console.error("waiting");
          return new Promise((resolve) => {
            finish = () => resolve("waited");
            for (const signal of ["SIGTERM", "SIGINT"]) if (line.isSet("loud")) process.once(signal, finish);
          });
        },
      })
      .tool("forget", {
        run({ what = "" }) {
          Promise.reject(new Error(`forgotten by its author${what}`));
          return "forgot";
        },
      })
      .tool("finish", {
        run() {
          finish();
          return "finished";
        },
      });
  },
});
