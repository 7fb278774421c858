/* Errors of the YouTube Data API. [E] developers.google.com, "YouTube Data API - Errors", its tables of
 * general errors and of videos.list and channels.list (read November 2026); [R] google/api/error_reason.proto
 * and the names of google/rpc/code.proto; [G] errors of Google's older JSON APIs, which the Data API also
 * returns in practice. In this table, these letters replace the marks of platform.h. */
#include "platforms/errors.h"

const struct error_row youtube_errors[] = {
    /* Quota and rate. */
    {"quotaExceeded", 0, OUTCOME_QUOTA_SPENT, SCOPE_APP, 0},       /* [E] until midnight in Los Angeles */
    {"dailyLimitExceeded", 0, OUTCOME_QUOTA_SPENT, SCOPE_APP, 0},  /* [G] */
    {"rateLimitExceeded", 0, OUTCOME_RETRY, SCOPE_APP, 0},         /* [G] */
    {"RATE_LIMIT_EXCEEDED", 0, OUTCOME_RETRY, SCOPE_APP, 0},       /* [R] */
    {"RESOURCE_EXHAUSTED", 0, OUTCOME_RETRY, SCOPE_APP, 0},        /* [R] */
    {"RESOURCE_QUOTA_EXCEEDED", 0, OUTCOME_RETRY, SCOPE_APP, 0},   /* [R] */
    {"userRateLimitExceeded", 0, OUTCOME_RETRY, SCOPE_ACCOUNT, 0}, /* [G] */
    /* Token and account. */
    {"authError", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},                     /* [G] */
    {"UNAUTHENTICATED", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},               /* [R] */
    {"authorizationRequired", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},         /* [E] */
    {"ACCESS_TOKEN_EXPIRED", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0},          /* [R] */
    {"ACCESS_TOKEN_TYPE_UNSUPPORTED", 0, OUTCOME_TOKEN_REJECTED, SCOPE_ACCOUNT, 0}, /* [R] */
    {"forbidden", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},                          /* [E] */
    {"insufficientPermissions", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},            /* [E] */
    {"insufficientCapabilities", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},           /* [E] */
    {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},    /* [R] */
    {"ACCOUNT_STATE_INVALID", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},              /* [R] */
    {"USER_BLOCKED_BY_ADMIN", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},              /* [R] */
    {"authenticatedUserAccountClosed", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},     /* [E] */
    {"authenticatedUserAccountSuspended", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},  /* [E] */
    {"authenticatedUserNotChannel", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},        /* [E] */
    {"accountDelegationForbidden", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},         /* [E] */
    {"channelClosed", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},                      /* [E] */
    {"channelSuspended", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},                   /* [E] */
    {"channelForbidden", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},      /* [E] from channels.list */
    {"channelNotFound", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0},       /* [E] */
    {"youtubeSignupRequired", 0, OUTCOME_RECONNECT, SCOPE_ACCOUNT, 0}, /* [E] an account without a channel */
    /* App, project and API key. */
    {"accessNotConfigured", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* [G] the API is off in the project */
    {"SERVICE_DISABLED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},    /* [R] the API is off in the project */
    {"SERVICE_NOT_VISIBLE", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* [R] */
    {"BILLING_DISABLED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},    /* [R] */
    {"keyInvalid", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},          /* [G] */
    {"keyExpired", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},          /* [G] */
    {"API_KEY_INVALID", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},     /* [R] in `details`, beside badRequest */
    {"API_KEY_SERVICE_BLOCKED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},             /* [R] */
    {"API_KEY_HTTP_REFERRER_BLOCKED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},       /* [R] */
    {"API_KEY_IP_ADDRESS_BLOCKED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},          /* [R] */
    {"API_KEY_ANDROID_APP_BLOCKED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},         /* [R] */
    {"API_KEY_IOS_APP_BLOCKED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},             /* [R] */
    {"ipRefererBlocked", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},                    /* [G] */
    {"CONSUMER_SUSPENDED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},                  /* [R] */
    {"CONSUMER_INVALID", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},                    /* [R] */
    {"GCP_SUSPENDED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},                       /* [R] */
    {"USER_PROJECT_DENIED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},                 /* [R] */
    {"RESOURCE_PROJECT_INVALID", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},            /* [R] */
    {"RESOURCE_USAGE_RESTRICTION_VIOLATED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0}, /* [R] */
    {"SECURITY_POLICY_VIOLATED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},            /* [R] */
    {"ORG_RESTRICTION_VIOLATION", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},           /* [R] */
    {"LOCATION_POLICY_VIOLATED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},            /* [R] */
    {"LOCATION_TAX_POLICY_VIOLATED", 0, OUTCOME_APP_REJECTED, SCOPE_APP, 0},        /* [R] */
    /* Request. Errors about content owners and contexts belong to parameters that are never sent. */
    {"badRequest", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},                     /* [E] */
    {"invalidParameter", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},               /* [G] */
    {"incompatibleParameters", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},         /* [E] */
    {"invalidFilters", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},                 /* [E] */
    {"invalidPageToken", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},               /* [E] */
    {"missingRequiredParameter", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},       /* [E] */
    {"unexpectedParameter", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},            /* [E] */
    {"unexpectedPart", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},                 /* [E] */
    {"unknownPart", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},                    /* [E] */
    {"unsupportedLanguageCode", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},        /* [E] */
    {"unsupportedRegionCode", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},          /* [E] */
    {"invalidCriteria", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},                /* [E] from channels.list */
    {"videoChartNotFound", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},             /* [E] from videos.list */
    {"cmsUserAccountNotFound", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},         /* [E] */
    {"contentOwnerAccountNotFound", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},    /* [E] */
    {"CREDENTIALS_MISSING", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},            /* [R] */
    {"SESSION_COOKIE_INVALID", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},         /* [R] */
    {"SYSTEM_PARAMETER_UNSUPPORTED", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0},   /* [R] */
    {"ORG_RESTRICTION_HEADER_INVALID", 0, OUTCOME_BAD_REQUEST, SCOPE_APP, 0}, /* [R] */
    /* Post and service. */
    {"videoNotFound", 0, OUTCOME_SPLIT, SCOPE_CALL, 0}, /* [E] not seen for calls with several ids */
    {"backendError", 0, OUTCOME_RETRY, SCOPE_CALL, 0},  /* [G] */
    {"internalError", 0, OUTCOME_RETRY, SCOPE_CALL, 0}, /* [G] */
    {0},
};
