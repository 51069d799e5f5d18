import { Component } from "@angular/core";

@Component({ selector: "app-root", template: "<p>Welcome</p>" })
export class App {}
