import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LoadedServer, withLoad } from "../driver/http-calls.mjs";
import { interleave } from "../driver/interleave.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The traced servers, by what takes their spans and metrics. */
const folders = { "without an SDK": at("../servers/traced"), "with the SDK": at("../../test/peers/bench/otel") };

/** The cost of `traceServer` over HTTP: server CPU of a call over that of the same server without it. Nothing is sent. */
export async function run({ quick, notes }) {
  const [plain] = having("http", "stateless").filter(({ name }) => name === "portolan");
  if (!plain || !existsSync(at("../../test/peers/node_modules/@opentelemetry/sdk-trace-node"))) {
    notes.push("not measured: the SDK of OpenTelemetry is not installed");
    return [];
  }
  // All are portolan to the load generator; the base of the ratio has to be named raw.
  const subjects = Object.entries(folders).map(([name, folder]) => ({ name, subject: { ...plain, folder } }));
  return withLoad(async (load) => {
    const rows = [];
    for (const era of ["stateful", "stateless"]) {
      const samples = new Samples();
      await interleave({
        implementations: [{ name: "raw", subject: plain }, ...subjects],
        rounds: quick ? 1 : 3,
        repetitions: quick ? 3 : 6,
        notes,
        open: ({ subject }) => new LoadedServer(load, subject, { era }),
        warm: (_, server) => server.pump(10_000),
        async measure(name, server, repetition) {
          const { cpu } = await server.pump(10_000);
          samples.add(name, repetition, cpu);
        },
      });
      for (const { name } of subjects) {
        const cells = { portolan: { value: samples.ratio(name) } };
        rows.push({ metric: `W13 traced ${name} ÷ untraced, ${era}`, unit: "×", shown: "value", cells });
      }
    }
    return rows;
  });
}
