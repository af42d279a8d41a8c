import { runRequirements } from "./requirement.ts";
import { toolHeaders } from "./sections/tool-headers.ts";

runRequirements("tool headers", toolHeaders);
