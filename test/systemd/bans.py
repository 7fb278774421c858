"""contrib/fail2ban, installed as docs/monitoring.md says: a real fail2ban bans one client of nginx in the firewall of the machine."""
from machine import wait_in

SERVER, ATTACKER, NEIGHBOR = "10.9.0.1", "10.9.0.2", "10.9.0.3"
NETWORK = f"""set -e
ip netns add clients
ip link add to-clients type veth peer name eth0 netns clients
ip addr add {SERVER}/24 dev to-clients
ip link set to-clients up
ip -n clients addr add {ATTACKER}/24 dev eth0
ip -n clients addr add {NEIGHBOR}/24 dev eth0
ip -n clients link set eth0 up
ip -n clients link set lo up
"""
INSTALL = """set -e
cp /source/contrib/fail2ban/filter.d/viewtally.conf /etc/fail2ban/filter.d/
cp /source/contrib/fail2ban/jail.d/viewtally.conf /etc/fail2ban/jail.d/
printf '[sshd]\\nbackend = systemd\\n' >/etc/fail2ban/jail.d/sshd.local
systemctl restart fail2ban
"""
# Prints the status, or the error, of COUNT requests from SOURCE that claim to be forwarded for NEIGHBOR.
REQUEST = f"""import http.client, sys
source, key, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(count):
    try:
        connection = http.client.HTTPConnection("{SERVER}", 80, timeout=10, source_address=(source, 0))
        connection.request("GET", "/v1/account", headers={{"Authorization": "Bearer " + key, "X-Forwarded-For": "{NEIGHBOR}"}})
        print(connection.getresponse().status)
    except OSError as error:
        print(type(error).__name__)
"""
WRONG_KEY = "service_live_" + "x" * 32
MAX_RETRY = 30


class Clients:
    def __init__(self, machine):
        self.machine = machine
        machine.run(NETWORK)
        machine.write("/run/request.py", REQUEST)

    def request(self, source, key, count=1):
        return self.machine.run(f"ip netns exec clients python3 /run/request.py {source} {key} {count}").stdout.split()

    def await_failures(self, number):
        wait_in(self.machine, f"fail2ban-client status viewtally | grep -q 'Total failed:.*[^0-9]{number}$'", f"fail2ban to find {number} failures")

    def banned(self):
        return self.machine.run("fail2ban-client get viewtally banip").stdout.split()


def check_ban(installed, clients, failures):
    """The last of 30 failures bans the address that sent the requests, not the one in X-Forwarded-For. An unban admits
    the address again."""
    assert set(clients.request(ATTACKER, WRONG_KEY, MAX_RETRY - 1)) == {"401"}
    clients.await_failures(failures + MAX_RETRY - 1)
    assert not clients.banned() and clients.request(ATTACKER, installed.key) == ["200"]
    assert clients.request(ATTACKER, WRONG_KEY) == ["401"]
    wait_in(clients.machine, f"fail2ban-client get viewtally banip | grep -qwF {ATTACKER}", "fail2ban to ban the attacker")
    assert clients.banned() == [ATTACKER]
    assert clients.request(ATTACKER, installed.key) == ["ConnectionRefusedError"]
    assert clients.request(NEIGHBOR, installed.key) == ["200"]
    clients.machine.run(f"fail2ban-client set viewtally unbanip {ATTACKER}")
    assert clients.request(ATTACKER, installed.key) == ["200"]


def check_bans(installed):
    """Checks with one process and with several, because viewtally@N.service has another journal."""
    clients = Clients(installed.machine)
    installed.enable("viewtally")
    installed.machine.run(INSTALL)
    wait_in(installed.machine, "fail2ban-client status viewtally", "fail2ban to start the jail")
    check_ban(installed, clients, 0)
    installed.enable("viewtally@1")
    check_ban(installed, clients, MAX_RETRY)
    installed.machine.run("systemctl stop fail2ban && ip netns del clients")
    installed.enable("viewtally")
