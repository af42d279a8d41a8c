import { useEffect, useState } from "preact/hooks";
import type { CallRecord } from "../../../api.ts";
import { reasonOf } from "../../api/client.ts";
import { type JsonNode, memberOf, parseJson, printJson } from "../../parts/json/document.ts";
import { type ConsolePage, usePage } from "../../state/console.ts";

/** A result as the server wrote it. */
export interface WholeResult {
  readonly text: string;
  readonly node?: JsonNode;
  readonly isCut: boolean;
  readonly reason?: string;
}

const pieceChars = 1_000_000;
/** More is not brought into the page. */
const maxChars = 8_000_000;

/** A number that JavaScript may have rounded. */
const longNumber = /[\d.]{16,}/;

/** Returns the result in the message of a call, as the server wrote it. Undefined if it is not there, or is too large. */
async function readMessage(
  page: ConsolePage,
  call: CallRecord | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { connections } = page.store;
  const connection =
    call?.connection ?? connections.all.peek().find((each) => each.server === call?.server && each.isMain)?.id;
  if (call === undefined || connection === undefined) return undefined;
  try {
    const { rows } = await page.api.read("messages", { connection, limit: 200 }, signal);
    const row = rows.findLast((each) => each.call === call.id && each.kind === "response" && each.lane === "server");
    if (row === undefined) return undefined;
    const detail = await page.api.read("message", { connection, n: row.n }, signal);
    const parsed = parseJson(detail.text);
    const result = "node" in parsed && !detail.isCut ? memberOf(parsed.node, "result") : undefined;
    return result && printJson(result);
  } catch {
    // Without the message there is still the result, rounded.
    return undefined;
  }
}

/** Reads the whole result of a call, piece by piece. Its text keeps the digits that an object of this page would lose. */
export function useWholeResult(call: CallRecord | undefined): WholeResult | undefined {
  const page = usePage();
  const [whole, setWhole] = useState<{ readonly id: string; readonly result: WholeResult } | undefined>(undefined);
  const id = call?.end?.result ? call.id : undefined;
  useEffect(() => {
    if (id === undefined) return;
    const life = new AbortController();
    const read = async () => {
      let text = "";
      for (let total = Infinity; text.length < Math.min(total, maxChars); ) {
        const piece = await page.api.read("result", { call: id, from: text.length, chars: pieceChars }, life.signal);
        total = piece.total;
        text += piece.text;
        if (piece.text === "" || text.length >= total) break;
      }
      const isCut = text.length >= maxChars;
      // The console has read the numbers already; those with many digits are as they were only in the message itself.
      if (longNumber.test(text) && !isCut) text = (await readMessage(page, call, life.signal)) ?? text;
      const parsed = parseJson(text);
      return { text, isCut, ...("node" in parsed && { node: parsed.node }) };
    };
    read().then(
      (result) => life.signal.aborted || setWhole({ id, result }),
      (error: unknown) =>
        life.signal.aborted || setWhole({ id, result: { text: "", isCut: false, reason: reasonOf(error) } }),
    );
    return () => life.abort();
  }, [id]);
  return whole !== undefined && whole.id === id ? whole.result : undefined;
}
