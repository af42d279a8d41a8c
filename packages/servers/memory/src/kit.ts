import { type Context, type FullResult, ToolError } from "portolan/server";
import { textResult } from "portolan-server-kit";
import type { Graph, Operation } from "./graph.ts";
import { Full } from "./log-file.ts";
import type { Limits } from "./options.ts";
import type { Schemas } from "./schemas.ts";
import type { MemoryStore } from "./store.ts";

/** What the tools share. */
export interface Kit {
  readonly store: MemoryStore;
  readonly limits: Limits;
  readonly namespace: string;
  readonly schemas: Schemas;
  /** Changes the namespace that a call names, and says what was done. */
  change<T>(
    args: { readonly namespace?: string },
    ctx: Context,
    work: (graph: Graph) => { ops: readonly Operation[]; result: T; says: string },
  ): Promise<FullResult<T>>;
  /** A result as a text and as data, with a warning while the file is damaged. */
  answer<T extends object>(result: T, says: string): FullResult<T & { damaged?: number }>;
}

export function createKit(parts: Pick<Kit, "store" | "limits" | "namespace" | "schemas">): Kit {
  const { store } = parts;
  return {
    ...parts,
    async change({ namespace = parts.namespace }, ctx, work) {
      const { result, says } = await store
        .change(
          namespace,
          (graph) => {
            const { ops, ...done } = work(graph);
            return { ops, result: done };
          },
          ctx.signal,
        )
        .catch((reason: unknown) => {
          throw explain(reason);
        });
      return textResult(says, result);
    },
    answer(result, says) {
      const damaged = store.state().damage.length;
      if (damaged === 0) return textResult(says, result);
      const warning = `The memory's file is damaged in ${damaged} places, so that something may be missing: tell the user`;
      return textResult(`${says}\n${warning}`, { ...result, damaged });
    },
  };
}

function explain(reason: unknown): unknown {
  if (reason instanceof Full) return new ToolError(`${reason.message}; forget what is not needed any more`);
  switch ((reason as { code?: unknown }).code) {
    case "timeout":
      return new ToolError("The memory is busy: another process is writing; nothing was changed, try again");
    case "ENOSPC":
    case "EDQUOT":
      return new ToolError("The disk is full; nothing was changed: tell the user");
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new ToolError("The memory's file cannot be written; nothing was changed: tell the user");
    default:
      return reason;
  }
}
