import { runRequirements } from "./requirement.ts";
import { hostileBytes } from "./sections/hostile-bytes.ts";

runRequirements("hostile-bytes", hostileBytes);
