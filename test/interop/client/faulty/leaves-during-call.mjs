import { serve } from "./raw.mjs";

serve({
  "tools/call": () => {
    process.stderr.write("panic: out of cheese\n");
    process.exit(70);
  },
});
