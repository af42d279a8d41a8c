import { transports } from "../kit/revisions.ts";
import { runGate, scopesOf } from "./gate.ts";
import { manifest } from "./manifest.ts";
import { scopeOf } from "./requirement.ts";
import { sections } from "./sections/index.ts";

runGate(manifest, sections, {
  moreThan: { rows: 100, requirements: 100 },
  required: ({ on, over = transports }) => scopesOf({ on, over }),
  covered: (requirement) => scopesOf(scopeOf(requirement)),
});
