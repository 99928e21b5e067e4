# The full image has the compiler that better-sqlite3 needs where no prebuilt binary can be had.
FROM node:20.20.2-bookworm AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts/build.mjs ./scripts/
COPY src ./src
RUN npm run build && npm prune --omit=dev

FROM node:20.20.2-bookworm-slim
ENV NODE_ENV=production
# Where HEALTHCHECK asks: the admin listener, or the public one where `admin: off`.
ENV A2M_HEALTH_URL=http://127.0.0.1:8788/health/ready
WORKDIR /a2m
RUN mkdir data && chown node:node data
COPY --from=build /build/node_modules ./node_modules
COPY --from=build /build/dist ./dist
COPY package.json LICENSE ./
COPY config ./config
USER node
VOLUME /a2m/data
EXPOSE 8787 8788
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(process.env.A2M_HEALTH_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# No shell in between: signals reach node, which ends what is in flight before it exits.
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["serve"]
