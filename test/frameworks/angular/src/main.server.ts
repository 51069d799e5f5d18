import { type BootstrapContext, bootstrapApplication } from "@angular/platform-browser";
import { provideServerRendering, RenderMode, withRoutes } from "@angular/ssr";
import { App } from "./app";

const providers = [provideServerRendering(withRoutes([{ path: "**", renderMode: RenderMode.Server }]))];

export default (context: BootstrapContext) => bootstrapApplication(App, { providers }, context);
