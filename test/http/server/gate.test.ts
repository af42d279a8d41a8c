import { runGate } from "../../requirements/gate.ts";
import { scopeOf } from "./requirement.ts";
import { manifest } from "./rows/index.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 80, requirements: 120 },
  required: ({ on }) => on,
  covered: scopeOf,
});
