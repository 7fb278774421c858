"""Linking an account in the browser, with stand-ins: the whole flow for each platform, rejections, and attacks."""
import concurrent.futures
import json
import re
import urllib.parse

import pytest

from lib.lines import author, uid
from lib.pages import Browser, session_cookie
from platformworld import MARK, World

MINUTE = 60_000
LINKED = ("tiktok", "instagram", "youtube", "facebook", "pinterest")


@pytest.fixture
def linking(viewtally, standins):
    """A server with the authors Mara and Noor, whose accounts are linked at the stand-ins."""
    world = World(viewtally, standins)
    world.configure(refresh={"source": "none"})
    viewtally.import_lines([author("Mara"), author("Noor")])
    result = Linking(world)
    yield result
    viewtally.stop()
    world.expect_no_secret()


class Linking:
    def __init__(self, world):
        self.world, self.instance, self.standins = world, world.instance, world.standins
        for platform in LINKED:
            self.account(platform, 1)
        self.instance.start()

    def restart(self):
        self.instance.stop()
        self.instance.start()

    def account(self, platform, number, **more):
        """Creates an account at the platform. Returns its id."""
        id = World.account_id(platform, number)
        login = {"login": "instagram"} if platform == "instagram" else {}
        self.standins.command(platform, "account", id=id, name=f"{platform} {number}", **login, **more)
        return id

    def browser(self, name="Mara"):
        result = Browser(self.instance.client())
        result.cookies["viewtally-session"] = session_cookie(self.instance, uid(name))
        return result

    def begin(self, browser, platform):
        """Submits the form that links an account. Returns the URL of the consent page."""
        page = browser.get("/platforms")
        form = next(form for form in page.forms if form.fields.get("platform") == platform)
        answer = browser.post("/platforms", form.fields)
        assert answer.status == 303, answer
        return answer.headers["Location"]

    def consent(self, platform, address):
        """Consents on the consent page. Returns the path of the callback."""
        url = urllib.parse.urlsplit(address)
        if platform in ("instagram", "facebook"):               # they share a stand-in
            self.standins.command(platform, "set", consent=World.account_id(platform, 1))
        host = next(name for name, origin in self.standins.origins.items() if origin == f"{url.scheme}://{url.netloc}" and name.endswith("auth"))
        status, headers, _ = self.standins.request(host, "GET", f"{url.path}?{url.query}")
        assert status == 302, status
        back = urllib.parse.urlsplit(headers["Location"])
        assert back.path == f"/platforms/callback/{platform}"
        return f"{back.path}?{back.query}"

    def link(self, browser, platform):
        return browser.get(self.consent(platform, self.begin(browser, platform)))

    def rows(self):
        return self.world.rows("SELECT a.uuid, c.api, c.account_id, c.state FROM platform_credentials c JOIN authors a ON a.id = c.author_id ORDER BY 1, 2, 3")

    def links(self):
        return self.world.rows("SELECT count(*) FROM platform_links")[0][0]

    def began_at(self):
        return self.world.rows("SELECT max(created_at) FROM platform_links")[0][0]


def assert_rejected(page, words, status=400):
    assert page.status == status and words in page.text, page
    return page


@pytest.mark.parametrize("platform", LINKED)
def test_linking_connects_the_account(linking, platform):
    browser = linking.browser()
    page = linking.link(browser, platform)
    assert page.status == 200 and page.url == "/platforms" and "Connected. Your numbers arrive with the next refresh." in page.text, page
    assert (World.account_id(platform, 1),) in {row[2:3] for row in linking.rows()}
    assert f"{platform} 1" in page.text and "The next refresh reads this account for the first time." in page.text
    assert linking.links() == 0
    assert not [sealed for sealed, in linking.world.rows("SELECT access_sealed FROM platform_credentials") if MARK.encode() in sealed]


def test_refresh_reads_the_linked_account(linking):
    """A refresh decrypts the stored tokens and uses them."""
    world = linking.world
    browser = linking.browser()
    linking.link(browser, "tiktok")
    world.standins.command("tiktok", "posts", account=World.account_id("tiktok", 1), posts=[["7077642457847000001", "reel", 1_783_584_000_000, 77, 7, 3, 2, 1]])
    world.instance.import_lines([{"type": "video", "id": uid("v"), "author_id": uid("Mara"), "title": "v",
                                  "posts": [{"platform": "tiktok", "post_id": "7077642457847000001", "posted_at": "2026-07-09T08:00:00Z"}]}])
    world.instance.configure({"refresh": {"source": "platforms"}})
    world.refresh()
    assert world.counts()["tiktok"]["7077642457847000001"]["views"] == 77
    assert "Connected" in browser.get("/platforms").text


def test_consent_page_gets_state_redirect_uri_and_pkce(linking):
    """The URL has state, redirect URI, PKCE if the platform supports it, and no secret."""
    browser = linking.browser()
    states = set()
    for platform in LINKED:
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(linking.begin(browser, platform)).query))
        assert query["redirect_uri"].endswith(f"/platforms/callback/{platform}")
        assert re.fullmatch(r"[A-Za-z0-9_-]{43}", query["state"])
        assert not any("secret" in name for name in query)
        states.add(query["state"])
        if platform == "youtube":
            assert query["code_challenge_method"] == "S256" and len(query["code_challenge"]) == 43
    assert len(states) == len(LINKED) and linking.links() == len(LINKED)
    stored = linking.world.rows("SELECT state_hash, verifier FROM platform_links")
    assert not any(state.encode() in bytes(value) for state in states for row in stored for value in row if value)


def test_denied_consent_links_nothing(linking):
    browser = linking.browser()
    linking.standins.command("tiktok", "set", consent="access_denied")
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    assert_rejected(browser.get(back), "You did not allow this service to read your numbers at TikTok.", 200)
    assert_rejected(browser.get(back), "was already used")
    linking.standins.command("tiktok", "set", consent="server_error")
    assert_rejected(linking.link(browser, "tiktok"), "TikTok refused access.")
    assert linking.rows() == [] and linking.links() == 0
    assert linking.standins.count("tiktok", "tiktok.token.*") == 0


def test_token_times_follow_the_wall_clock_if_the_expiry_floor_is_ahead(linking, clock):
    """The refresh compares these times with the wall clock."""
    day = 24 * 60 * MINUTE
    linking.instance.stop()
    linking.world.rows("UPDATE meta SET value = ? WHERE key = 'expiry_floor'", clock.wall_ms + 10 * day)
    linking.instance.start()
    linking.link(linking.browser(), "instagram")
    [(obtained_at, expires_at)] = linking.world.rows("SELECT obtained_at, access_expires_at FROM platform_credentials")
    assert obtained_at == clock.wall_ms and clock.wall_ms < expires_at <= clock.wall_ms + 60 * day


def test_callback_url_works_only_once(linking):
    browser = linking.browser()
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    assert browser.get(back).url == "/platforms"
    assert_rejected(browser.get(back), "was already used")
    assert linking.standins.count("tiktok", "tiktok.token.authorization_code") == 1


def test_callback_in_another_session_is_rejected(linking):
    """Login CSRF: a callback URL from an attacker must not link the attacker's account to the author who opens it."""
    mara, noor, other_session = linking.browser("Mara"), linking.browser("Noor"), linking.browser("Mara")
    for victim in (noor, other_session):
        back = linking.consent("youtube", linking.begin(mara, "youtube"))
        assert_rejected(victim.get(back), "was not requested in this browser")
        assert_rejected(mara.get(back), "was already used")
    signed_out = Browser(linking.instance.client())
    back = linking.consent("youtube", linking.begin(mara, "youtube"))
    assert_rejected(signed_out.get(back), "You are no longer signed in here.", 403)
    assert mara.get(back).url == "/platforms"                   # linking in the right session still works
    assert [row[2] for row in linking.rows()] == [World.account_id("youtube", 1)]


def test_callback_of_another_platform_is_rejected(linking):
    browser = linking.browser()
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    assert_rejected(browser.get(back.replace("/tiktok", "/pinterest")), "was not requested in this browser")
    assert_rejected(browser.get(back), "was already used")
    assert linking.rows() == [] and linking.standins.count("pinterest", "pinterest.token.*") == 0


def test_linking_expires_after_ten_minutes(linking, clock):
    browser = linking.browser()
    late = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    clock.set_wall(linking.began_at() + 10 * MINUTE + 1)
    assert_rejected(browser.get(late), "This took longer than ten minutes.")
    for _ in range(3):
        linking.begin(browser, "tiktok")
    assert linking.links() == 3
    clock.advance(10 * MINUTE + 1)
    linking.begin(browser, "tiktok")
    assert linking.links() == 1                                 # expired linkings are deleted


def test_malformed_callback_is_rejected(linking):
    browser, unknown = linking.browser(), "state=" + "A" * 43
    for query in ("", "?code=x", "?state=x&code=y", f"?{unknown}&{unknown}", "?state=%ff&code=x", f"?{unknown}", f"?{unknown}&code=x", f"?{unknown}&error=access_denied"):
        assert_rejected(browser.get("/platforms/callback/tiktok" + query), "Nothing was changed.")
    assert linking.standins.count("tiktok", "tiktok.*") == 0


def test_unknown_and_unconfigured_platforms_are_not_found(linking):
    browser = linking.browser()
    for name in ("myspace", "instagram-facebook", "tiktok/x", "..%2ftiktok"):
        assert browser.get(f"/platforms/callback/{name}?state=x&code=y").status == 404
    form = browser.get("/platforms").forms[-1].fields
    for name in ("myspace", "instagram-facebook", ""):
        assert_rejected(browser.post("/platforms", {**form, "platform": name}), "does not connect accounts of that platform")
    assert_rejected(browser.post("/platforms", {**form, "token": "x"}), "This form did not come from a page of this site", 403)
    assert linking.links() == 0


def test_invalid_code_is_reported(linking):
    browser = linking.browser()
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    assert_rejected(browser.get(re.sub(r"code=[^&]*", "code=forged", back)), "TikTok did not confirm that it was you")
    state = linking.consent("tiktok", linking.begin(browser, "tiktok")).split("state=")[1].split("&")[0]
    assert_rejected(browser.get(f"/platforms/callback/tiktok?state={state}"), "did not confirm that you allowed access")
    assert linking.rows() == []


def test_wrong_app_secret_is_reported_as_error_of_the_service(linking):
    linking.world.configure(refresh={"source": "none"}, tiktok={"client_secret": "wrong"})
    linking.restart()
    assert_rejected(linking.link(linking.browser(), "tiktok"), "tell the people who run this service", 502)
    assert linking.rows() == []


def test_failing_platform_is_reported(linking):
    linking.world.configure(refresh={"source": "none"}, platforms={"timeout_ms": 300})
    linking.restart()
    browser = linking.browser()
    for kind in ("html", "garbage", "truncated", "reset", "silent", "oversized", "redirect"):
        linking.standins.fault("tiktok", kind, route="tiktok.token.*")
        page = assert_rejected(linking.link(browser, "tiktok"), "Nothing was changed.", 502)
        assert page.headers["Content-Security-Policy"]
        assert linking.rows() == []
        linking.standins.clear()
    linking.world.configure(platforms={"timeout_ms": 30_000})
    linking.restart()
    assert linking.link(linking.browser(), "tiktok").url == "/platforms"


def test_missing_key_file_is_reported_as_error_of_the_service(linking):
    """Only YouTube needs the key file when a linking begins, because its PKCE verifier is sealed."""
    browser = linking.browser()
    form = next(form for form in browser.get("/platforms").forms if form.fields.get("platform") == "youtube")
    key_file = linking.instance.directory / "secrets.key"
    key_file.rename(key_file.with_suffix(".moved"))
    assert_rejected(browser.post("/platforms", form.fields), "Nothing was changed. Please try again", 503)
    assert f"cannot link an account: the key file {key_file} does not exist" in linking.instance.log
    key_file.with_suffix(".moved").rename(key_file)
    assert linking.link(browser, "youtube").url == "/platforms"


def test_shutdown_cancels_a_call_in_flight(linking):
    """The client gets no response, and the server stops without waiting for the platform."""
    linking.world.configure(refresh={"source": "none"}, server={"drain_ms": 200}, platforms={"timeout_ms": 60000})
    linking.restart()
    browser = linking.browser()
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    linking.standins.fault("tiktok", "silent", route="tiktok.token.*")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        request = pool.submit(browser.get, back)
        linking.standins.wait_for("tiktok", "tiktok.token.authorization_code")
        linking.instance.stop()
        with pytest.raises(Exception):
            request.result()
    assert linking.rows() == []


def test_account_of_another_author_is_rejected(linking):
    linking.link(linking.browser("Mara"), "pinterest")
    page = assert_rejected(linking.link(linking.browser("Noor"), "pinterest"), "already connected by another author", 409)
    assert "pinterest 1" in page.text
    assert [row[2] for row in linking.rows()] == [World.account_id("pinterest", 1)]


def test_linking_again_renews_the_account(linking):
    browser = linking.browser()
    linking.link(browser, "tiktok")
    row, version = linking.world.rows("SELECT id, version FROM platform_credentials")[0]
    linking.instance.sql("UPDATE platform_credentials SET state = 1, last_error = 'reconnect invalid_grant', last_error_at = 1, failures = 1")
    page = browser.get("/platforms")
    assert "Sign in again" in page.text and "TikTok requires you to sign in again" in page.text and "Sign in to TikTok again" in page.text
    assert "reconnect invalid_grant" in page.text
    page = linking.link(browser, "tiktok")
    assert "requires you to sign in" not in page.text
    assert linking.world.rows("SELECT id, state, failures, version > ? FROM platform_credentials", version) == [(row, 0, 0, 1)]


@pytest.mark.parametrize("error, failures, words", [
    ("app_rejected invalid_client", 1, "TikTok rejects the registration of this service"),
    ("missing all", 1, "shows none of your videos"), ("sealed damaged", 1, "Connect the account again"),
    ("retry 500", 1, "The last attempt to read TikTok failed"), ("retry 500", 3, "has been unreadable for some time"),
])
def test_errors_are_explained_to_the_author(linking, error, failures, words):
    browser = linking.browser()
    assert words not in linking.link(browser, "tiktok").text
    linking.instance.sql("UPDATE platform_credentials SET last_error = ?, last_error_at = 1, failures = ?", error, failures)
    page = browser.get("/platforms")
    assert words in page.text and error in page.text


@pytest.mark.parametrize("state", [0, 1])
def test_page_says_that_the_platform_of_an_account_is_not_configured(linking, state):
    """The refresh skips the account, so it stores no error."""
    assert "no longer set up" not in linking.link(linking.browser(), "tiktok").text
    linking.instance.sql("UPDATE platform_credentials SET state = ?", state)
    linking.instance.configure({"tiktok": {"client_id": "", "client_secret": ""}, "refresh": {"source": "platforms"}})
    linking.restart()
    linking.instance.run("refresh")
    page = linking.browser().get("/platforms")
    assert "no longer set up for TikTok. You cannot fix this: please ask the people" in page.text
    assert "Sign in to TikTok" not in page.text and "Disconnect" in page.text


def test_facebook_links_pages_and_their_instagram_accounts(linking):
    """All accounts of the Facebook login are linked and can be disconnected one by one."""
    standins = linking.standins
    for number in range(2, 5):
        standins.command("facebook", "account", id=World.account_id("facebook", number), name="facebook 1")
    standins.command("instagram", "account", id=World.account_id("instagram", 9), name="facebook 1", login="facebook")
    browser = linking.browser()
    page = linking.link(browser, "facebook")
    assert page.url == "/platforms" and page.text.count("Instagram (Facebook login)") == 1
    assert [row[1] for row in linking.rows()] == [2, 4, 4, 4, 4, 4]          # the Instagram account belongs to a Facebook page, so the page is linked as well
    row = linking.world.rows("SELECT id FROM platform_credentials WHERE api = 2")[0][0]
    browser.send(browser.get(f"/platforms/accounts/{row}"), f"/platforms/accounts/{row}")
    assert [row[1] for row in linking.rows()] == [4, 4, 4, 4, 4]


def test_author_signed_in_by_a_proxy_can_link_an_account(linking):
    """Without a session the linking is bound to the browser that started it."""
    linking.world.configure(refresh={"source": "none"}, account={"auth_header": "X-Remote-User"}, server={"trusted_proxies": "127.0.0.1"})
    linking.restart()
    mine, other = (Browser(linking.instance.client(), headers={"X-Remote-User": uid("Mara")}) for _ in range(2))
    other.get("/platforms")
    back = linking.consent("tiktok", linking.begin(mine, "tiktok"))
    assert_rejected(other.get(back), "was not requested in this browser")
    noor = linking.consent("tiktok", linking.begin(mine, "tiktok"))
    assert_rejected(mine.get(noor, headers={"X-Remote-User": uid("Noor")}), "was not requested in this browser")
    assert linking.link(mine, "tiktok").url == "/platforms"


def test_disconnecting_deletes_the_tokens(linking):
    mara, noor = linking.browser("Mara"), linking.browser("Noor")
    linking.link(mara, "tiktok")
    row = linking.world.rows("SELECT id FROM platform_credentials")[0][0]
    path = f"/platforms/accounts/{row}"
    assert path in mara.get("/platforms").body
    assert noor.get(path).status == 404 and mara.get("/platforms/accounts/0").status == 404 and mara.get("/platforms/accounts/-1").status == 404
    other = noor.get("/platforms").forms[-1].fields
    noor.post(path, other)
    assert linking.world.rows("SELECT id FROM platform_credentials") == [(row,)]      # the account of another author stays
    page = mara.get(path)
    assert "Disconnect tiktok 1 , TikTok?" in page.text, page
    assert mara.post(path, {}).status == 403
    page = mara.send(page, path)
    assert page.url == "/platforms" and "has deleted its access" in page.text and "No account is connected yet." in page.text
    assert linking.world.rows("SELECT id FROM platform_credentials") == []


def test_neither_code_nor_state_is_logged(linking):
    path = linking.instance.directory / "access.log"
    linking.instance.configure({"log": {"level": "debug", "access": path}})
    linking.restart()
    browser = linking.browser()
    back = linking.consent("tiktok", linking.begin(browser, "tiktok"))
    browser.get(back)
    Browser(linking.instance.client()).get(back)
    assert b" 400 " in linking.instance.exchange(f"GET {back} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n".encode())
    state = urllib.parse.parse_qs(back.split("?")[1])["state"][0]
    linking.instance.stop()
    log = linking.instance.log + path.read_text(encoding="utf-8")
    assert log.count('"route":"/platforms/callback/{platform}"') == 2, log
    assert state not in log and MARK not in log


def test_platforms_page_says_if_no_platform_is_configured(make_viewtally, clock):
    instance = make_viewtally(clock=clock)
    instance.import_lines([author("Mara")])
    instance.start()
    browser = Browser(instance.client())
    browser.cookies["viewtally-session"] = session_cookie(instance, uid("Mara"))
    page = browser.get("/platforms")
    assert page.status == 200 and "have not set up a platform to which you can" in page.text and 'href="/platforms"' not in page.body


# ---- permissions ----

def press(linking, browser, platform, button):
    """Presses a button of /platforms. Returns the URL of the consent page."""
    form = next(form for form in browser.get("/platforms").forms if form.fields.get("platform") == platform and button in form.labels)
    answer = browser.post("/platforms", form.fields)
    assert answer.status == 303, answer
    return answer.headers["Location"]


@pytest.mark.parametrize("platform, declined, words, request_again", [
    ("facebook", "read_insights", "read the insights of your pages. Without it, views stay empty.", "auth_type=rerequest"),
    ("facebook", "pages_read_user_content", "Without it, likes, comments and shares stay empty for some posts.", "auth_type=rerequest"),
    ("instagram", "instagram_business_manage_insights", "Without it, no numbers of this account can be read.", "force_reauth=true"),
])
def test_declined_permissions_are_listed_and_requested_again(linking, platform, declined, words, request_again):
    browser = linking.browser()
    linking.standins.command(platform, "set", declines=[declined])
    page = linking.link(browser, platform)
    assert "You did not allow this service to:" in page.text and words in page.text, page
    listed = json.loads(linking.instance.run("platform", "list", "--json").out)
    assert [row["missing_permissions"] for row in listed] == [[declined]]
    assert f"not granted: {declined}" in linking.instance.run("platform", "list").out
    linking.standins.command(platform, "set", declines=[])
    title = {"facebook": "Facebook", "instagram": "Instagram"}[platform]
    again = press(linking, browser, platform, f"Allow the missing permissions at {title}")
    assert request_again in again
    page = browser.get(linking.consent(platform, again))
    assert "You did not allow" not in page.text and "Allow the missing permissions" not in page.text
    assert [row["missing_permissions"] for row in json.loads(linking.instance.run("platform", "list", "--json").out)] == [[]]


def test_first_request_has_no_parameter_of_a_repeated_request(linking):
    for platform in LINKED:
        address = linking.begin(linking.browser(), platform)
        assert "rerequest" not in address and "force_reauth" not in address and "select_account" not in address


def test_button_for_another_account_lets_the_author_select_another_one(linking):
    """The button forces the consent page; without it TikTok authorizes the previous account again."""
    second, browser = linking.account("tiktok", 2), linking.browser()
    linking.link(browser, "tiktok")
    linking.standins.command("tiktok", "set", consent=second)
    browser.get(linking.consent("tiktok", press(linking, browser, "tiktok", "Connect another TikTok account")))
    assert {row[2] for row in linking.rows()} == {World.account_id("tiktok", 1), second}


def test_pages_of_a_portfolio_are_found(linking):
    standins = linking.standins
    owned, client = (linking.account("facebook", number) for number in (2, 3))
    standins.command("facebook", "account", id=World.account_id("instagram", 9), name="facebook 2", login="facebook")
    standins.command("facebook", "set", portfolios={"Press": {"owned": [owned, World.account_id("instagram", 9)]}, "Agency": {"client": [client]}})
    linking.link(linking.browser(), "facebook")
    assert {row[2] for row in linking.rows()} == {World.account_id("facebook", 1), owned, client, World.account_id("instagram", 9), "10" + World.account_id("instagram", 9)}


def test_pages_outside_of_portfolios_are_linked_if_the_portfolio_permission_is_declined(linking):
    owned = linking.account("facebook", 2)
    linking.standins.command("facebook", "set", portfolios={"Press": {"owned": [owned]}}, declines=["business_management"])
    linking.link(linking.browser(), "facebook")
    assert {row[2] for row in linking.rows()} == {World.account_id("facebook", 1)}
    assert linking.standins.count("facebook", "facebook.me.businesses") == 0


def test_config_id_replaces_the_scopes(linking):
    """Apps with Facebook Login for Business use config_id."""
    linking.world.configure(refresh={"source": "none"}, facebook={"config_id": "4711"})
    linking.restart()
    linking.standins.command("facebook", "set", configuration="4711")
    page = linking.link(linking.browser(), "facebook")
    assert page.url == "/platforms" and "You did not allow" not in page.text, page


def test_instagram_profile_nested_in_data_is_accepted(linking):
    linking.standins.command("instagram", "set", me_in_data=True)
    assert "instagram 1" in linking.link(linking.browser(), "instagram").text


def test_page_explains_why_a_personal_pinterest_account_has_no_counts(linking):
    """Pinterest rejects analytics of personal accounts. Their pins do not count as missing, and no count is stored as
    0."""
    world, id = linking.world, World.account_id("pinterest", 1)
    linking.standins.command("pinterest", "account_set", account=id, kind="PINNER")
    browser = linking.browser()
    page = linking.link(browser, "pinterest")
    assert "This is a personal account." in page.text and "views, likes, comments and saves stay empty" in page.text, page
    assert "personal account: no analytics" in linking.instance.run("platform", "list").out
    linking.standins.command("pinterest", "posts", account=id, posts=[["813744226420795884", "reel", 1_783_584_000_000, 77, 7, 3, 2, 1]])
    world.instance.import_lines([{"type": "video", "id": uid("v"), "author_id": uid("Mara"), "title": "v",
                                  "posts": [{"platform": "pinterest", "post_id": "813744226420795884", "posted_at": "2026-07-09T08:00:00Z"}]}])
    world.instance.configure({"refresh": {"source": "platforms"}})
    world.refresh()
    assert world.rows("SELECT misses, missed_since FROM platform_posts") in ([], [(0, None)])
    assert "shows none of your videos" not in browser.get("/platforms").text
    linking.standins.command("pinterest", "account_set", account=id, kind="BUSINESS")
    assert "personal account" not in linking.link(browser, "pinterest").text
    world.refresh()
    assert world.counts()["pinterest"]["813744226420795884"]["views"] == 77
