"""Several processes on one database and one TCP address."""
import os
import re



def test_processes_share_an_address_and_follow_each_other(make_viewtally):
    first = make_viewtally({"server": {"reuse_port": "on"}})
    author = first.add_author()
    key = first.create_key(author)
    first.start()
    second = make_viewtally({"server": {"reuse_port": "on", "listen": first.address},
                             "store": {"path": str(first.directory / "viewtally.db")}})
    second.start()
    assert second.address == first.address
    served = {first.pid: 0, second.pid: 0}
    clients = []
    for _ in range(64):
        client = first.client(key)
        assert client.get("/account").status == 200
        clients.append(client)
    for pid in served:
        served[pid] = connections_of(pid, first.address)
    assert sum(served.values()) == 64 and all(served.values()), served
    # What one command changes, both processes see at the next request.
    first.run("author", "set-plan", author, "inactive")
    assert {client.get("/account").status for client in clients} == {403}
    # One of them leaves: whoever was connected to it connects again, and nobody is refused.
    second.stop()
    first.run("author", "set-plan", author, "active")
    assert {client.get("/account").status for client in clients} == {200}
    for client in clients:
        client.close()


def test_without_reuse_port_an_address_has_one_owner(make_viewtally):
    first = make_viewtally()
    first.start()
    second = make_viewtally({"server": {"listen": first.address}})
    assert "address already in use" in second.run("serve", status=3).err


def connections_of(pid, address):
    """Established connections whose server side belongs to the process."""
    port = int(address.rpartition(":")[2])
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            match = re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            continue
        if match:
            inodes.add(match[1])
    count = 0
    with open("/proc/net/tcp") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            count += int(words[1].split(":")[1], 16) == port and words[3] == "01" and words[9] in inodes
    return count
