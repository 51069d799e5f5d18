import {
  AccountVerifiedEvent,
  EventBus,
  OrderPlacedEvent,
  PluginCommonModule,
  VendurePlugin,
} from "@vendure/core";
import { tracker } from "./tracker";

@VendurePlugin({
  imports: [PluginCommonModule],
  configuration: (config) => {
    config.apiOptions.middleware.push({ handler: tracker.onClick(), route: "/", beforeListen: true });
    return config;
  },
})
export class AffiliatePlugin {
  constructor(eventBus: EventBus) {
    eventBus.ofType(AccountVerifiedEvent).subscribe(async ({ ctx, customer }) => {
      const registration = { email: customer.emailAddress, customerId: customer.id };
      if (ctx.req) await tracker.trackRegistration(registration, tracker.attributionOf(ctx.req));
    });
    eventBus.ofType(OrderPlacedEvent).subscribe(async ({ ctx, order }) => {
      const customerEmail = order.customer?.emailAddress ?? "";
      const payment = { paymentId: order.code, customerEmail, leadValue: order.totalWithTax / 100 };
      if (ctx.req) await tracker.trackPayment(payment, tracker.attributionOf(ctx.req));
    });
  }
}
