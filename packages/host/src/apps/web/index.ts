export { type MountableApp, type MountedApp, type MountedChannel, type MountOptions, mountApp } from "./mount.ts";
