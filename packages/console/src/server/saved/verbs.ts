import { changeCalls, readCalls, runCall, type SavedCall } from "portolan-recording";
import type { SavedVerdict } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { type CallRecords, parseArguments } from "../calls/calls.ts";
import { ApiRefusal } from "../failure.ts";
import { maxLongBodyBytes } from "../limits.ts";
import { jsonObject, list, name, object, optional, text } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";

export type SavedVerb = `saved.${"list" | "put" | "remove" | "run"}`;

const savedCall = object({
  name: text(200, 1),
  server: name,
  tool: name,
  argumentsText: text(1_000_000),
  // The file's own rules say which expectations there are.
  expect: list(jsonObject, 100),
});

/** The saved calls of the project. */
export function savedVerbs({ host, options, publish }: ConsoleBase, calls: CallRecords): VerbTable<SavedVerb> {
  const { project, tools } = options;
  /** Names the servers of the file as the page does. */
  const asShown = (saved: readonly SavedCall[]): readonly SavedCall[] => {
    const names = new Map<string, string>();
    for (const { name } of host.servers) {
      const target = targetOf(name);
      if (target !== undefined && !names.has(target)) names.set(target, name);
    }
    return saved.map((call) => ({ ...call, server: names.get(call.server) ?? call.server }));
  };
  const targetOf = (name: string) => {
    try {
      return tools.savedTarget(host, name);
    } catch {
      // No call of this server can be in the file.
      return undefined;
    }
  };
  return {
    "saved.list": reads({}, async () => {
      const saved = await readCalls(project);
      return { ...saved, calls: asShown(saved.calls) };
    }),
    "saved.put": changes(
      { call: savedCall, replaces: optional(text(200, 1)) },
      async ({ call, replaces }) => {
        const server = tools.savedTarget(host, call.server);
        await changeCalls(project, (all) => {
          if (call.name !== replaces && all.some((one) => one.name === call.name)) {
            const message = `There is a saved call ${JSON.stringify(call.name)} already.`;
            throw new ApiRefusal("invalid", message, { paths: [{ path: "call.name", message }] });
          }
          return [...all.filter((one) => one.name !== replaces), { ...call, server }];
        });
        return {};
      },
      maxLongBodyBytes,
    ),
    "saved.remove": changes({ name: text(200, 1) }, async (takes) => {
      await changeCalls(project, (all) => {
        if (all.some((one) => one.name === takes.name)) return all.filter((one) => one.name !== takes.name);
        throw new ApiRefusal("not-found", "There is no such saved call.");
      });
      return {};
    }),
    "saved.run": changes({ names: optional(list(text(200, 1), 10_000)) }, async ({ names }) => {
      const saved = await readCalls(project);
      if (saved.problem !== undefined) throw new ApiRefusal("invalid", saved.problem);
      const wanted = asShown(saved.calls).filter((call) => names?.includes(call.name) ?? true);
      const isChosen = names?.length === 1;
      const verdicts: SavedVerdict[] = [];
      for (const call of wanted) {
        let record: string | undefined;
        const verdict = await runCall(call, {
          env: process.env,
          async send({ server, tool, argumentsText }) {
            const begun = calls.begin({ server, tool, by: "user", argumentsText });
            record = begun.id;
            let schemaProblems: readonly string[] = [];
            try {
              const options = {
                callId: begun.id,
                output: "report",
                onOutputProblems: (problems: readonly string[]) => {
                  schemaProblems = problems;
                },
              } as const;
              // The file may come from others. A click on one call agrees to it; many at once are asked about like calls
              // of a model, where rules, grants or labels do not allow them.
              const result = isChosen
                ? await host.callTool(server, tool, undefined, { ...options, by: "user", argumentsText })
                : await host.callTool(server, tool, parseArguments(argumentsText), options);
              calls.end(begun.id, { how: "done", result, schemaProblems });
              return { result, schemaProblems };
            } catch (reason) {
              calls.end(begun.id, {
                how: "failed",
                message: reason instanceof Error ? reason.message : String(reason),
              });
              throw reason;
            }
          },
        });
        verdicts.push({ ...verdict, ...(record !== undefined && { call: record }) });
        publish({ kind: "saved", verdicts: [...verdicts] });
      }
      return { verdicts };
    }),
  };
}
