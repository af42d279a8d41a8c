// The sign-in parts of the official SDKs, both major versions under the same names.

import {
  auth as authV2,
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { auth as authV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export const logins = {
  "SDK v1": { auth: authV1, Client: ClientV1, Transport: TransportV1 },
  "SDK v2": { auth: authV2, Client: ClientV2, Transport: TransportV2 },
};
