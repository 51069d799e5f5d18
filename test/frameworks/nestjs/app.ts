import "reflect-metadata";
import { randomUUID } from "node:crypto";
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnApplicationShutdown,
  Post,
  Req,
  RequestMethod,
  Res,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import type { Attributed } from "express-affiliate";
import { tracker } from "./tracker.js";

@Injectable()
class Shop {
  signUp({ email, name }: { email: string; name: string }) {
    if (!email) throw new BadRequestException("no address");
    return { id: randomUUID(), email, name };
  }

  complete(order: { id: string; email: string }) {
    return { ...order, total: 19.9 };
  }
}

@Controller()
class ShopController {
  constructor(private readonly shop: Shop) {}

  @Get()
  welcome() {
    return "Welcome";
  }

  @Post("signup")
  async signUp(@Req() req: Attributed<Request>, @Body() body: { email: string; name: string }) {
    const user = this.shop.signUp(body);
    const registration = { email: user.email, customerId: user.id, customerName: user.name };
    await req.affiliate.trackRegistration(registration);
    return user;
  }

  // #region checkout
  @Post("checkout")
  checkout(@Body() body: { id: string; email: string }, @Res({ passthrough: true }) res: Response) {
    const order = this.shop.complete(body);
    res.locals.payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
    return order;
  }
  // #endregion
}

@Module({ controllers: [ShopController], providers: [Shop] })
class AppModule implements NestModule, OnApplicationShutdown {
  // #region configure
  configure(consumer: MiddlewareConsumer) {
    const onPayment = tracker.onPayment(
      (_req, _res, next) => next(),
      (_req, res) => res.locals.payment,
    );
    consumer
      .apply(tracker.onClick())
      .forRoutes({ path: "/", method: RequestMethod.GET })
      .apply(onPayment)
      .forRoutes({ path: "checkout", method: RequestMethod.POST });
  }

  async onApplicationShutdown() {
    await tracker.close();
  }
  // #endregion
}

const app = await NestFactory.create(AppModule, { logger: ["error", "warn"] });
app.use(tracker);
app.enableShutdownHooks();
export const server = await app.listen(process.env.PORT ?? 3000);

export const close = () => app.close();
