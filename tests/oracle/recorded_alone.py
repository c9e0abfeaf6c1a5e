"""How long recorded jobs take with nothing else on the machine."""


def lengths_alone(model, client, device):
    """Of each recorded job by its number; where times are scaled the client is played by itself, at its own pace, each timeline its jobs once."""
    if client.kernels_scale == 1 and client.host_scale == 1:
        return {job.number: job.length for job in client.recorded}
    spec = {"name": client.name, "recording": client.asked, "repeat": {"jobs": len(client.recorded)}, "once": True}
    played = model({"clients": [spec]}, {**device, "gpus": 1}).run().clients[0]
    return {job.recorded.number: job.finish - job.begin for job in played.jobs}
