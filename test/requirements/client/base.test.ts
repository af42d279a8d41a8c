import { runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";
import { baseFaults } from "./sections/base-faults.ts";

runRequirements("base protocol", [...base, ...baseFaults]);
