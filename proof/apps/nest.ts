import type { App } from "./shared/app.js";
import { inFile } from "./shared/patch.js";
import { stepsAt, walkShop } from "./shared/walk.js";

const ROUTES = `
  @Post('signup')
  async signUp(@Req() req: Attributed<Request>, @Body() { email }: { email: string }) {
    await req.affiliate.trackRegistration({ email });
    return { email };
  }

  @Post('paid')
  paid(@Body() order: { id: string; email: string }, @Res({ passthrough: true }) res: Response) {
    res.locals.payment = { paymentId: order.id, customerEmail: order.email, leadValue: 19.9 };
    return order;
  }`;

const MODULE = `export class AppModule implements NestModule, OnApplicationShutdown {
  configure(consumer: MiddlewareConsumer) {
    const onPayment = tracker.onPayment(
      (_req, _res, next) => next(),
      (_req, res) => res.locals.payment,
    );
    consumer.apply(onPayment).forRoutes('paid');
  }

  onApplicationShutdown = () => tracker.close();
}`;

export default {
  title: "NestJS: the app that its command makes",
  async make({ install, run }) {
    const options = "--skip-install --skip-git --package-manager npm --language TS";
    await run(`npx --yes @nestjs/cli@11.0.13 new shop ${options}`.split(" "));
    await install({}, "shop");
  },
  root: "shop",
  patch: [
    { copy: "tracker.ts", to: "shop/src/tracker.ts" },
    ...inFile(
      "shop/src/main.ts",
      { below: "import { AppModule }", add: "import { tracker } from './tracker';" },
      {
        below: "NestFactory.create(AppModule)",
        add: "  app.use(tracker, tracker.onClick());\n  app.enableShutdownHooks();",
      },
    ),
    ...inFile(
      "shop/src/app.controller.ts",
      {
        replace: "import { Controller, Get } from '@nestjs/common';",
        by: "import { Body, Controller, Get, Post, Req, Res } from '@nestjs/common';\nimport type { Request, Response } from 'express';\nimport type { Attributed } from 'express-affiliate';",
      },
      { below: "constructor(private", add: ROUTES },
    ),
    ...inFile(
      "shop/src/app.module.ts",
      {
        replace: "import { Module } from '@nestjs/common';",
        by: "import { MiddlewareConsumer, Module, NestModule, OnApplicationShutdown } from '@nestjs/common';\nimport { tracker } from './tracker';",
      },
      { replace: "export class AppModule {}", by: MODULE },
    ),
  ],
  prepare: ({ run }) => run(["npm", "run", "build"], "shop").then(() => {}),
  start: ["node", "shop/dist/main.js"],
  walk: (walk) => walkShop(walk, stepsAt("")),
} satisfies App;
