import { transports } from "../kit/revisions.ts";
import { placesOf, runGate } from "./gate.ts";
import { manifest } from "./manifest.ts";
import { scopeOf } from "./requirement.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 100, requirements: 100 },
  wanted: ({ on, over = transports }) => placesOf({ on, over }),
  covered: (requirement) => placesOf(scopeOf(requirement)),
});
