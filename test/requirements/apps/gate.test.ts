import { runGate } from "../gate.ts";
import { browserRequirements } from "./browser-section.ts";
import { hostRequirements } from "./host-section.ts";
import { revisionsOf } from "./requirement.ts";
import { rowsAppHost } from "./rows.ts";

runGate(
  rowsAppHost,
  { host: hostRequirements, browser: browserRequirements },
  { moreThan: { rows: 15, requirements: 15 }, required: ({ on }) => on, covered: revisionsOf },
);
