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
  type NestInterceptor,
  type NestModule,
  type OnApplicationShutdown,
  Post,
  RequestMethod,
  Res,
  UseInterceptors,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request, Response } from "express";
import { tap } from "rxjs";
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

// #region interceptor
/** Reports what happened, once the route's method has returned. */
function reports<Result>(report: (req: Request, result: Result) => unknown): NestInterceptor {
  return {
    intercept: (context, next) =>
      next.handle().pipe(tap((result) => void report(context.switchToHttp().getRequest(), result))),
  };
}

const reportsRegistration = reports<{ id: string; email: string; name: string }>((req, user) =>
  req.affiliate?.trackRegistration({ email: user.email, customerId: user.id, customerName: user.name }),
);

@Controller()
class UsersController {
  constructor(private readonly shop: Shop) {}

  @Post("signup")
  @UseInterceptors(reportsRegistration)
  signUp(@Body() body: { email: string; name: string }) {
    return this.shop.signUp(body);
  }
}
// #endregion

@Controller()
class LandingPage {
  @Get()
  welcome() {
    return "Welcome";
  }
}

// #region middleware
@Controller()
class OrdersController {
  constructor(private readonly shop: Shop) {}

  @Post("checkout")
  checkout(@Body() body: { id: string; email: string }, @Res({ passthrough: true }) res: Response) {
    const order = this.shop.complete(body);
    res.locals.payment = { paymentId: order.id, customerEmail: order.email, leadValue: order.total };
    return order;
  }
}

@Module({ controllers: [LandingPage, UsersController, OrdersController], providers: [Shop] })
class AppModule implements NestModule, OnApplicationShutdown {
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
}
// #endregion

// #region mount
const app = await NestFactory.create(AppModule, { logger: ["error", "warn"] });
app.use(tracker);
app.enableShutdownHooks();
export const server = await app.listen(process.env.PORT ?? 3000);
// #endregion

export const close = () => app.close();
