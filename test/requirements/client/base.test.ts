import { runRequirements } from "./requirement.ts";
import { base } from "./sections/base.ts";
import { baseFaults } from "./sections/base-faults.ts";
import { codes } from "./sections/codes.ts";

runRequirements("base protocol", base);
runRequirements("error codes and metadata", codes);
runRequirements("faults", baseFaults);
