import { Child } from "../driver/child.mjs";
import { having } from "../implementations.mjs";

// Only implementations that convert through Standard Schema can be observed from outside.
const watchable = ["portolan", "sdk-v2"];

/** Counts conversions to JSON Schema after the start of the server, during two lists and a hundred calls. */
export async function run({ notes }) {
  const cells = {};
  for (const { name, folder } of having("memory").filter((it) => watchable.includes(it.name))) {
    const child = new Child(name, "memory-child.mjs", { folder, era: "stateful" });
    try {
      const { atStart, later } = await child.ask({ run: "conversions" });
      // No conversion at all means that it converts in a way that is not visible here, which proves nothing.
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
