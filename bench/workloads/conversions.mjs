import { MemoryDriver } from "../driver/memory.mjs";
import { having } from "../implementations.mjs";

// Only those that ask a schema for its JSON Schema through Standard Schema can be watched from outside.
const watchable = ["portolan", "sdk-v2"];

/** How often schemas are converted to JSON Schema after the server has started: two lists and a hundred calls. */
export async function run({ notes }) {
  const cells = {};
  for (const implementation of having("memory").filter(({ name }) => watchable.includes(name))) {
    const driver = new MemoryDriver(implementation);
    try {
      const { atStart, later } = await driver.ask({ run: "conversions" });
      // None at all means that it converts by a way not seen from here, which proves nothing.
      if (atStart + later === 0) throw new Error("no conversion was seen, not even at the start");
      cells[implementation.name] = { value: later };
    } catch (error) {
      notes.push(`${implementation.name}: ${error.message.split("\n")[0]}`);
    } finally {
      await driver.close();
    }
  }
  return [{ metric: "schema conversions after start", unit: "", shown: "value", cells }];
}
