import type { Scenario } from "../scenario.ts";
import { asking } from "./asking.ts";
import { base } from "./base.ts";
import { batches } from "./batches.ts";
import { cancellation } from "./cancellation.ts";
import { changes } from "./changes.ts";
import { closing } from "./closing.ts";
import { eras } from "./eras.ts";
import { handshake } from "./handshake.ts";
import { hostile } from "./hostile.ts";
import { headers, http, sessions } from "./http.ts";
import { httpSse } from "./http-sse.ts";
import { telling } from "./notifications.ts";
import { pages } from "./pages.ts";
import { stdio } from "./stdio.ts";
import { structured } from "./structured.ts";

/** All scenarios, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  ...handshake,
  ...base,
  ...batches,
  ...cancellation,
  ...pages,
  ...structured,
  ...telling,
  ...asking,
  ...eras,
  ...changes,
  ...stdio,
  ...http,
  ...sessions,
  ...headers,
  ...httpSse,
  ...hostile,
  ...closing,
];
