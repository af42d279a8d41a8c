import { afterAll } from "vitest";
import { columns } from "./columns.ts";
import { removeFolder } from "./reference.ts";
import { runColumns } from "./run-columns.ts";

runColumns("Servers over stdio", columns);
afterAll(removeFolder);
