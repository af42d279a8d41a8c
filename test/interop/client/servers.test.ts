import { columns } from "./columns.ts";
import { useFolder } from "./reference-folder.ts";
import { runColumns } from "./run-columns.ts";

useFolder();
runColumns("Servers over stdio", columns);
