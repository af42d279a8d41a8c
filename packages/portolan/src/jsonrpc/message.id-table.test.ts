import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IdTable } from "./message.ts";

const ids = fc.oneof(fc.integer({ min: 0, max: 600 }), fc.maxSafeInteger(), fc.constantFrom("", "0", "1", "a"));

describe("an id table", () => {
  test("does what a Map does", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("set", "delete", "get"), ids, fc.integer()), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (taken) => {
        const table = new IdTable<number>();
        const map = new Map<string | number, number>();
        for (const [step, id, value] of taken) {
          if (step === "set") {
            table.set(id, value);
            map.set(id, value);
          } else if (step === "delete") expect(table.delete(id)).toBe(map.delete(id));
          else expect(table.get(id)).toBe(map.get(id));
        }
        expect(table.values().sort()).toEqual([...map.values()].sort());
        table.clear();
        expect(table.values()).toEqual([]);
      }),
    );
  });
});
