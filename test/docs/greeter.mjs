// The greeter of docs/testing.md over stdio.
import { serveStdio } from "portolan/server/stdio";
import greeter from "../../examples/testing/greeter.mjs";

serveStdio(greeter);
