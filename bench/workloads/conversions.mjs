import { Child } from "../driver/child.mjs";
import { having } from "../implementations.mjs";

// Only those that ask a schema for its JSON Schema through Standard Schema can be watched from outside.
const watchable = ["portolan", "sdk-v2"];

/** How often schemas are converted to JSON Schema after the server has started: two lists and a hundred calls. */
export async function run({ notes }) {
  const cells = {};
  for (const { name, folder } of having("memory").filter((it) => watchable.includes(it.name))) {
    const child = new Child(name, "memory-child.mjs", { folder, era: "stateful" });
    try {
      const { atStart, later } = await child.ask({ run: "conversions" });
      // None at all means that it converts by a way not seen from here, which proves nothing.
      if (atStart + later === 0) throw new Error("no conversion was seen, not even at the start");
      cells[name] = { value: later };
    } catch (error) {
      notes.push(`${name}: ${error.message.split("\n")[0]}`);
    } finally {
      await child.close();
    }
  }
  return [{ metric: "schema conversions after start", unit: "", shown: "value", cells }];
}
