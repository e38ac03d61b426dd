"""Words that say nothing about what was decided, and names that belong together.

Loaded only when an index is made. A word that is missing here counts as telling, so the list errs
towards what people write in every repository.
"""

from __future__ import annotations

from holdfast.notices.words import make_set

# Never part of what an alternative is called: articles, pronouns, and what one does with a thing.
EMPTY = make_set(
    """
a about above after again all also always am an and another any anything are around as at be
because been before being below between both but by can cannot could did do does doing done down
during each either else ever every few first for from get gets getting give given go goes going
got had has have having here how i if in into is it its itself just keep keeps kept let lets
like ll make makes making may maybe me might more most much must my need needs neither never new
no nobody none nor not nothing now of off often on once one only onto or other others our out
over own per please put puts quite rather re really s same shall should since so some something
still such t take takes than that the their them then there these they thing things this those
through to together too two under until up upon us use used uses using ve very via want wants
was way we well were what when where whether which while who whole whose why will with within
without would yes yet you your add adding adopt allow allows apply avoid become begin bring
build building call calls change changes choose come consider convert create creating decide
define delete depend drop enable ensure exist extend fetch fill find fix follow force handle
hold implement import include install instead introduce invent leave live lives load look lose
maintain mean merge migrate move moving offer open pass pick place port prefer prevent produce
provide pull push read refactor refuse reject release rely remain remove rename replace require
return reuse revert rewrite run running save send serve set share ship show skip split start
stay stick stop store storing support switch tell test treat try turn update wait wire work
works wrap write writing
"""
)
# What people write in every repository; alone none of these says which alternative is meant.
COMMON = make_set(
    """
ability access account action active address admin agent alert amount api app application
approach area argument array async attempt auth authentication author authorization automatic
background backend backup bad base basic batch bean best better big bit block blocking body
boolean box branch browser bucket buffer bug bulk bus business button byte cache cached caching
callback case cause cell cent chain channel char character check checkout child chunk class
clean clear cli client clock cloud cluster code collection color column command comment commit
common company compare compat complete component computer concept concurrency concurrent
condition config configuration connect connection connector console constant constraint
container content context contract control controller cookie copy core correct cost count
counter coverage cpu crash credential cron csv cursor custom customer cycle daemon daily
dashboard data database date datetime day dead debug decision deep default definition delay
dependency deploy deployment design detail developer development device diff different direct
directory disk display distributed doc document documentation domain double download draft
driver dry duplicate dynamic easy edge edit editor effect email empty end endpoint engine entity
entry enum environment error event example exception execution exit expensive export expression
extension external extra factory fail failed failing failure fake fallback false fast feature
feed field file filter final finance fixed flag flat float flow folder font form format
framework frequent frontend full function future gateway generic global good graph grid group
guard half handler hard hash header health heavy helper hidden high history hook host hot hour
html http huge human id idea identity idle image immutable implementation incident index info
inline input instance int integer integration interface internal interval invoice issue item
iterator job join json key kind label language large last late latency layer lazy leader level
library license light limit line link list listener little live local location lock locking log
logging logic login long loop low machine main major manager manual map mapping mark master
match memory menu message metadata method metric microservice middleware migration minor minute
mobile mock mode model module money monitor monitoring month multiple mutable name namespace
native network next node noise normal note notification null number object obsolete offline
offset old online operation operator ops optimistic option order orm outbox output owner package
page pagination panel parallel parameter parent parser part partial partition password patch
path pattern payload payment payout performance period permission person phase phone pipeline
plain plan platform plugin pointer policy poll polling pool popup port price primary print
priority private problem procedure process processor product production profile program progress
project promise prompt property proposal protocol provider proxy public publish query question
queue quick raw ready real reason receipt record recovery recursive redirect reference region
registry regular relation remote render repeat replica reply repo report repository request
resource response rest result resume retention retry retries reverse review right risk role
rollback root round route router routing row rule runtime safe sample sandbox schedule scheduled
scheduler schema scope score screen script scroll search second secret section security segment
select separate sequence serial server service session setting settings setup shadow shard
shared shell short shutdown side signal signature simple single site size slow small snapshot
socket soft software source space spec special speed sql stable stack staff stage staging
standard state statement static statistic status step storage strategy stream streaming strict
string strong structure style subject subscription suite summary support sync synchronous syntax
system tab table tag target task tax team template temporary tenant term terminal text theme
thread threshold throughput ticket time timeout timer timestamp timezone title token tool top
topic total trace tracking traffic transaction transfer transform tree trigger true trust type
ui unique unit unused upload url usage user util utility validation validator value variable
vendor version view virtual visible volume warning web webhook webhooks week weight widget
window worker workflow workspace wrapper wrong yaml year zero zone ago available central clever
cheap complex eager early easier enough entire faster further generated hand hardcoded heavier
home hundred ideal individual later less lighter manually many milliseconds minimal missing
nested newer nightly older optional ordinary particular pessimistic possible pure random rare
relational reliable rough shallow simpler slower stateful stateless sure thousand tiny twice
unknown weekly wide
"""
)
# Packages whose names do not have the name of the thing in them.
ALIASES = {
    "postgres": ("psycopg", "psycopg2", "psycopg3", "asyncpg", "pg", "pq", "pgx", "postgresql"),
    "postgresql": ("psycopg", "psycopg2", "psycopg3", "asyncpg", "pg", "pq", "pgx", "postgres"),
    "mysql": ("pymysql", "mysqlclient", "mysqldb"),
    "mongodb": ("mongo", "pymongo", "mongoose", "motor"),
    "mongo": ("mongodb", "pymongo", "mongoose", "motor"),
    "rabbitmq": ("pika", "amqplib", "amqp", "kombu"),
    "graphql": ("graphene", "ariadne", "strawberry-graphql", "apollo", "gqlgen"),
    "dynamodb": ("pynamodb", "dynamoose"),
    "elasticsearch": ("elastic",),
    "kubernetes": ("k8s",),
    "protobuf": ("protobufjs", "prost"),
    "grpc": ("grpcio", "tonic"),
    "beautifulsoup": ("bs4", "beautifulsoup4"),
    "sqlalchemy": ("sqlmodel",),
    "momentjs": ("moment",),
    "memcached": ("pymemcache", "pylibmc", "memcache"),
    "websocket": ("ws", "websockets"),
}
# Before or behind a common word, these say that it is the name of a package.
BEFORE_PACKAGE = frozenset(["import", "install", "dependency", "package"])
BEHIND_PACKAGE = make_set("library lib package module dependency crate gem framework sdk plugin")
