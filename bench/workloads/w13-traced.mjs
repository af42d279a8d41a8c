import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LoadedServer, withLoad } from "../driver/http-calls.mjs";
import { interleave } from "../driver/interleave.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The cost of a call over HTTP with `traceServer` and the OpenTelemetry SDK, which sends nothing, over the same without. */
export async function run({ quick, notes }) {
  const [plain] = having("http", "stateless").filter(({ name }) => name === "portolan");
  if (!plain || !existsSync(at("../../test/peers/node_modules/@opentelemetry/sdk-trace-node"))) {
    notes.push("not measured: the SDK is not installed");
    return [];
  }
  const traced = { ...plain, folder: at("../../test/peers/bench/otel") };
  return withLoad(async (load) => {
    const rows = [];
    for (const era of ["stateful", "stateless"]) {
      const samples = new Samples();
      await interleave({
        // Interleaved by name; the load generator treats both as portolan.
        implementations: [
          { name: "raw", subject: plain },
          { name: "portolan", subject: traced },
        ],
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
      const cells = { portolan: { value: samples.ratio("portolan") } };
      rows.push({ metric: `W13 traced HTTP call ÷ untraced, ${era}`, unit: "×", shown: "value", cells });
    }
    return rows;
  });
}
