import { runRequirements } from "./requirement.ts";
import { httpSse } from "./sections/http-sse.ts";

runRequirements("HTTP+SSE", httpSse);
