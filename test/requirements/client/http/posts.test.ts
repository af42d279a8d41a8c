import { runRequirements } from "./requirement.ts";
import { posts } from "./sections/posts.ts";

runRequirements("posts", posts);
