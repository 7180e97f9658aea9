"""The scenes that `martfl demo --task` plays, by name."""

from martfl.demo.options import DemoOptions
from martfl.demo.scene import Scene
from martfl.tasks.torch_task import Progress


def make_scene(options: DemoOptions, *, progress: Progress | None = None) -> Scene:
    """The scene of a task; what a scene needs is loaded only for it."""
    if options.task == "hospitals":
        from martfl.demo.hospitals import hospitals_scene

        return hospitals_scene(options, progress=progress)
    if options.task == "lora":
        from martfl.demo.lora import lora_scene

        return lora_scene(options, progress=progress)
    from martfl.demo.cast import digits_scene

    return digits_scene(options)
